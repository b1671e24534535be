"""Files that are whole or not there: written beside their place, and moved to it when everything is on the disk."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def check_target(path: str | Path) -> None:
    """Refuse, before any work, what cannot be written to.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written to, or the path is a folder itself.
    """
    if not isinstance(path, str | os.PathLike):
        raise OSError(f"expected the path of a file to write, got {path!r}.")
    try:
        if b"\0" in os.fsencode(path):
            raise OSError(f"no file can be called {str(path)!r}.")
    except UnicodeEncodeError:
        raise OSError(f"no file can be called {str(path)!r}.") from None
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"the folder {str(folder)!r} does not exist: make it before writing {str(path)!r}.")
    if Path(path).is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: name a file in it.")
    if _is_ordinary(Path(path)) and not os.access(Path(path).resolve().parent, os.W_OK):
        raise PermissionError(
            f"the folder {str(folder)!r} cannot be written to: choose another for {Path(path).name!r}."
        )


def write(path: str | Path, content: str | bytes) -> None:
    """Write a file as a whole; where that fails, an older file of that name is what it was.

    Text is written as UTF-8. Symbolic links are followed; pipes and devices are written to as they are.

    Raises
    ------
    OSError
        With file and reason.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write(Path(folder) / "note.txt", "whole")
    ...     [(path.name, path.read_text()) for path in Path(folder).iterdir()]
    [('note.txt', 'whole')]
    """
    check_target(path)
    # What no encoding knows, half a surrogate pair, is written as a question mark: a label must not cost the file.
    data = content.encode("utf-8", errors="replace") if isinstance(content, str) else content
    try:
        if _is_ordinary(Path(path)):
            _replace(Path(path).resolve(), data)
        else:
            with open(path, "wb") as file:
                file.write(data)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        # Python has an error of another kind for a name that no file can have.
        raise _told(error if isinstance(error, OSError) else OSError(22, str(error)), path) from None


def text_or_file(text: str, path: str | Path | None) -> str | None:
    """The text itself, or nothing once it has been written to a file.

    Raises
    ------
    OSError
        If it cannot be written; an older file is as it was.
    """
    if path is None:
        return text
    write(path, text)
    return None


def append(path: Path, line: str) -> None:
    """Add a line to a file, on the disk when this returns.

    Raises
    ------
    OSError
        With file and reason.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _told(error, path) from None


def _replace(path: Path, data: bytes) -> None:
    # Beside its place, since files move at once only within a disk. Made by open, so that it has the usual permissions.
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(part, path.stat().st_mode & 0o7777)
        os.replace(part, path)
    except BaseException:
        # Interruptions, too, leave nothing behind.
        part.unlink(missing_ok=True)
        raise


def _is_ordinary(path: Path) -> bool:
    """A file, or nothing yet; neither a pipe nor a device."""
    return path.is_file() or not path.exists()


def _told(error: OSError, path: str | Path) -> OSError:
    reason = error.strerror or str(error) or type(error).__name__
    kept = " The older file of that name is as it was." if Path(path).is_file() else ""
    told = type(error)(f"{str(path)!r} could not be written: {reason}.{kept}")
    told.errno = error.errno
    return told
