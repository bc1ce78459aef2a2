"""The records of EIBench: scenarios with a simulated person, and episodes played in them."""
