"""The notation of grammars: ``.bnf`` files for rules, ``.scope`` files for where each may go."""
