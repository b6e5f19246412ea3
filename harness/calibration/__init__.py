"""Whether verdicts keep their promises: tried on simulated machines, on recorded rounds, and beside other tools."""
