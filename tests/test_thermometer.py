"""The count of roundabout phrases in docstrings, help texts and pages."""

from pathlib import Path

from thermometer import count, table

MODULE = '''"""What is a line."""

def verb(path):
    """Say those of others, and THAT OF mine."""
    text = "whose text is no documentation"
    return option("--path", help="the file whose lines" + " are read")
'''
PAGE = """# Lines of which one counts

```python
whose = 1
```

  ```text
  what is in code
  ```

A line whose words count."""


def test_the_texts_that_a_reader_sees_are_counted(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / "plain.md").write_text("A plain page.")
    assert count(tmp_path / "module.py") == (4, 4 + 8 + 4 + 2)
    assert count(tmp_path / "page.md") == (2, 6 + 5)
    lines = [line.split() for line in table([tmp_path]).splitlines()]
    assert [line[:3] for line in lines] == [
        ["222.2", "4", "18"],
        ["181.8", "2", "11"],
        ["187.5", "6", "32"],
    ]
    assert [line[3] for line in lines] == [str(tmp_path / "module.py"), str(tmp_path / "page.md"), "all"]
