"""Readers: from a source to a corpus as text, in the words and splits of a paper's recipe.

In: a folder of files, or a public source. Out: a ``Corpus``, whose words have no numbers yet. Nothing here needs PyTorch or
Lightning: whoever counts texts does not wait for them. The DataModule of a corpus is its reader that also makes batches.

* ``base``       what all readers share; start here
* ``stored``     what readers of corpora in files share
* ``questions``  what readers of corpora with a question beside each text share
* ``sst`` …      one corpus a file; ``by_name`` has them all
"""
