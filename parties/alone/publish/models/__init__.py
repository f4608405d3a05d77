"""What classes of rows must be like before they are published: k, l, t and others; what an attacker could do."""
