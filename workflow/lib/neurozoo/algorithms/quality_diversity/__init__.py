"""Quality diversity: searches that fill an archive with levels which make an agent behave in every way."""
