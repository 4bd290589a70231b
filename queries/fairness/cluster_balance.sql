-- The worst match, over all groups and clusters, of the group's share of the cluster with its share of
-- all rows: the smaller over the larger of the two. Rows of unknown group count in both totals.
WITH known AS (
    FROM rows WHERE cluster IS NOT NULL AND weight > 0
),
names AS (
    SELECT DISTINCT slice, "group" FROM known WHERE "group" IS NOT NULL
),
places AS (
    SELECT DISTINCT slice, cluster FROM known
),
shares AS (
    SELECT names.slice,
           (SELECT coalesce(sum(weight) FILTER (known."group" = names."group"), 0) / sum(weight)
            FROM known
            WHERE known.slice IS NOT DISTINCT FROM names.slice
              AND known.cluster = places.cluster) AS here,
           (SELECT sum(weight) FILTER (known."group" = names."group") / sum(weight)
            FROM known
            WHERE known.slice IS NOT DISTINCT FROM names.slice) AS overall
    FROM names
    JOIN places ON places.slice IS NOT DISTINCT FROM names.slice
),
found AS (
    SELECT slice, min(least(here, overall) / greatest(here, overall)) AS worst
    FROM shares
    GROUP BY slice
)
SELECT every.slice, worst AS value
FROM (SELECT DISTINCT slice FROM rows) AS every
LEFT JOIN found ON found.slice IS NOT DISTINCT FROM every.slice
