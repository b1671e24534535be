"""From the file a team has to the analysis an expert would make; the rules are on the page about the front door."""
