"""Published tables beside the numbers of our runs, written into ``results/<table>/``: ``table.py`` computes all numbers and
claims, ``comparison.py`` judges them, ``page.py`` puts them into words and ``figures.py`` draws them.
"""
