"""Reports of scores: as text, as figures and as a page of HTML."""
