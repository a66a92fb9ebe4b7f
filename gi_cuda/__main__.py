"""``python -m gi_cuda``: the command line."""

from gi_cuda.cli import main

if __name__ == "__main__":
    main()
