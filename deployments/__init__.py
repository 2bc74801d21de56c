"""What runs where: one thin Ray Serve class a deployment, the graph builder, the HTTP ingress."""
