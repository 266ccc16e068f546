"""The book of results: a page for each claim of the literature, with what was published and what came out here.

`docs/results/book.yaml` has the claims. `take` makes a record of the results that are there, in
`docs/results/CLAIM/`. Pages are written from claims and records alone, so that they are the same everywhere.
"""
