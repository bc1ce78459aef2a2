"""Raw diagnosis strings into groups."""

import pytest

from attune_data.attunebench.profile import diagnosis_group_names, diagnosis_groups


@pytest.mark.parametrize(
    ("raw", "groups"),
    [
        ([], "unknown"),
        ([" ", ""], "unknown"),
        (["None of the above"], "none"),
        ([" none OF the above ", ""], "none"),
        (["None of the above", "ADHD"], "ADHD"),
        (["None"], "other"),
        (["Generalized Anxiety Disorder (GAD)"], "AnxDep"),
        (["Major DEPRESSIVE disorder", "anxious"], "AnxDep"),
        (["ADD (attention-deficit)"], "ADHD"),
        (["Attention deficit hyperactivity"], "ADHD"),
        (["Autistic"], "ASD"),
        (["Asperger's"], "ASD"),
        (["ASD"], "ASD"),
        (["(asd)"], "ASD"),
        (["Lasdun syndrome"], "other"),
        (["PTSD", "adhd", "Depression and autism"], "AnxDep ADHD ASD other"),
    ],
)
def test_groups(raw: list[str], groups: str) -> None:
    assert " ".join(diagnosis_groups(raw)) == groups


def test_names_of_the_groups() -> None:
    assert diagnosis_group_names() == ("AnxDep", "ADHD", "ASD", "other", "none", "unknown")
