"""One self-contained page about a fit: what it says first, then tables, figures and what was checked."""

from .page import Section, Subject, render

__all__ = ["Section", "Subject", "render"]
