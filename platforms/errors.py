"""The one kind of error that a user can mend: it becomes a single line and exit status 2."""


class UserError(Exception):
    """Wrong input: where it is, what is wrong with it, what to do.

    Command lines print it as ``error: where: problem. remedy.`` and exit with 2; a bug keeps its traceback.
    """

    def __init__(self, where: str, problem: str, remedy: str):
        super().__init__(f"{where}: {problem}. {remedy}.")
        self.where, self.problem, self.remedy = where, problem, remedy


class PlatformError(UserError):
    """A scenario, a platform file or a placement that cannot be used."""
