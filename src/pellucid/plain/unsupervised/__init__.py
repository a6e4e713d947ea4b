"""Structure without labels: clusters, mixtures, maps."""
