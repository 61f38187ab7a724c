module cadre

go 1.26
