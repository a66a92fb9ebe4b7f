"""Run the Python code of a target, to check it.

Reading a target does not run its code. A user who only looks at its source need not trust it.
"""

from __future__ import annotations

from gi_cuda.spec.case_data.modules import check_call, load_function
from gi_cuda.spec.oracles import Python
from gi_cuda.spec.target import Target
from gi_cuda.spec.toml_file.load import keys_of
from gi_cuda.spec.toml_file.locate import Key


def check_code(target: Target) -> None:
    """Run the data module and the oracle's files, and check the signatures of their functions.

    Raises:
        UserError: a file does not run, a function is missing, or it takes other arguments.
    """
    places = keys_of(target)
    make = load_function(target.data, "case", places.at(("target", "data")))
    for index, case in enumerate(target.cases):
        check_call(make, places.at(("case", index, "args")), **case.args)
    for index, check in enumerate(target.oracle.checks):
        if isinstance(check, Python):
            key: Key = ("oracle", index)
            table = key if key in places.lines else ("oracle",)
            where = places.at((*table, "function"))
            _, _, name = check.function.rpartition(":")
            check_call(load_function(check.file, name, where), where, {}, {}, {})
