"""``python -m dropglm`` is the command ``dropglm``."""

from dropglm.cli import main

if __name__ == "__main__":
    main()
