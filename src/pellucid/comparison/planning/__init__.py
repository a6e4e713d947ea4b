"""Everything that is decided before the first fit: settings, data, models, folds, limits."""
