"""Files of models, no code; recollect.inference.weights finds them, and checks that they are the ones that it knows."""
