module ironward.dev/template-oracle

go 1.26
