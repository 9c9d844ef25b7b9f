"""What stands behind the judges and the verdict: networks trained on a known rule, and the making of the verdict's rule.

Start at ``__main__.py``.
"""
