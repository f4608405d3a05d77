"""Statistical checks of mechanisms as black boxes, and exact checks of kinds of jobs, against their privacy
promises."""
