"""AttuneBench as a task of lm-evaluation-harness."""

from attune_bench.adapters.lm_eval import UnitTask


class AttuneBench(UnitTask):
    """AttuneBench, without judges."""

    benchmark = "attunebench"
