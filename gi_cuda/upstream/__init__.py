"""From a winner to what a maintainer gets: diffs, mails, PTX."""
