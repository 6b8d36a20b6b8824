"""A lock on an open file, which ends with the process that holds it."""

import sys

if sys.platform == "win32":
    import msvcrt
    import os

    BEYOND = 2**31 - 2  # Windows also keeps others from reading bytes that are locked

    def lock_file(file: int) -> bool:
        """Lock an open file; return False if another process has locked it."""
        os.lseek(file, BEYOND, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def lock_file(file: int) -> bool:
        """Lock an open file; return False if another process has locked it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
