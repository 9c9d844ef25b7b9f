"""The commands of ``attest``: each file is one command. Its function ``main`` takes the arguments after the name of the
command, returns the exit code, and raises ``AttestError`` for a mistake of the user.
"""
