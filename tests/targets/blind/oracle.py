"""Oracle that compares half of one output, and nothing of two others."""


def penalty(case, outputs, reference):
    middle = case["n"] // 2
    return int((outputs["half"][:middle] != reference["half"][:middle]).sum())
