"""What a candidate is looked at for beside its answers: races, orders, inputs, unset locals."""
