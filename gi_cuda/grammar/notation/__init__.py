"""The notation of grammars: ``.bnf`` files for rules, ``.scope`` files for each donor's places."""
