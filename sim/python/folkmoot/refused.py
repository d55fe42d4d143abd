"""The one error that both sides of a worker know."""


class Refused(Exception):
    """A result that cannot be sent, as a whole sentence."""
