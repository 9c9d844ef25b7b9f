"""The commands of ``attest``: each file is one command, with a function ``main`` that takes the arguments after the name of
the command.
"""
