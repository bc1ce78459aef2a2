"""Where records come from and go to: files, folders, archives, the Hugging Face Hub. Nothing is parsed here."""
