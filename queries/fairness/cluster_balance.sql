-- Cluster balance: the smaller over the larger of a group's share of a cluster and its share of all rows,
-- for the group and cluster where this ratio is smallest. Rows of unknown group count in both totals.
-- views: _groups.sql
-- compared: not
WITH known AS (
    FROM rows WHERE cluster IS NOT NULL AND weight > 0
),
shares AS (
    SELECT slice, "group", cluster, share(coalesce(own, false), true) AS here,
           sum(sum(weight) FILTER (own)) OVER each / sum(sum(weight)) OVER each AS overall
    FROM beside(known)
    GROUP BY slice, "group", cluster
    WINDOW each AS (PARTITION BY slice, "group")
)
SELECT slice, min(least(here, overall) / greatest(here, overall)) FILTER (overall > 0) AS value
FROM shares
GROUP BY slice
