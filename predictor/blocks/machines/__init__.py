"""Costs of an application's blocks: by hardware data, by SimGrid's network model, or by a block model."""
