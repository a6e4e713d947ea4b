"""Random forests and extremely randomized trees."""
