"""Turn a winner into files for a maintainer: diffs, mails, PTX."""
