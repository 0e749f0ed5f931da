module localcluster/components/pause

go 1.26.0
