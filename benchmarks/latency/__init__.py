"""What calls cost: a model server whose every call takes a set time, and what is measured against it."""
