"""What is printed, drawn and written about a fit."""
