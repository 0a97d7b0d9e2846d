"""Made data: tasks whose right answers are known exactly."""
