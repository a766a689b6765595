"""Pictures of the documentation, drawn from runs and predictions of the project."""
