"""What an application's blocks cost: by hardware data, by SimGrid's network model, by a block model."""
