"""What the site of the documentation is built with: ``zensical.toml`` names these modules."""
