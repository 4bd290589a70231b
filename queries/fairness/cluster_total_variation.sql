-- The part of a group's distribution over clusters that exceeds the reference's, cluster by cluster; the
-- largest of all pairs.
WITH known AS (
    FROM rows WHERE cluster IS NOT NULL AND "group" IS NOT NULL AND weight > 0
),
names AS (
    SELECT DISTINCT slice, "group" FROM known
),
pairs AS (
    -- Every group with every other; with the reference; or with everyone, or everyone else.
    SELECT one.slice, one."group" AS own, two."group" AS ref, false AS everyone, false AS others
    FROM names AS one
    JOIN names AS two ON one.slice IS NOT DISTINCT FROM two.slice AND one."group" <> two."group"
    WHERE getvariable('ref_kind') IS NULL
       OR getvariable('ref_kind') = 'value' AND two."group" = getvariable('ref')
    UNION ALL
    SELECT slice, "group", "group", getvariable('ref_kind') = 'overall',
           getvariable('ref_kind') = 'rest'
    FROM names
    WHERE getvariable('ref_kind') IN ('overall', 'rest')
),
sides AS (
    SELECT pairs.slice, own, ref, cluster,
           coalesce(sum(weight) FILTER ("group" = own), 0) AS mine,
           coalesce(sum(weight) FILTER (
               everyone OR (others AND "group" <> ref) OR (NOT others AND "group" = ref)
           ), 0) AS theirs
    FROM pairs
    JOIN known ON known.slice IS NOT DISTINCT FROM pairs.slice
    GROUP BY pairs.slice, own, ref, cluster
),
shares AS (
    SELECT *, mine / sum(mine) OVER (PARTITION BY slice, own, ref) AS p,
           theirs / nullif(sum(theirs) OVER (PARTITION BY slice, own, ref), 0) AS q
    FROM sides
),
each AS (
    SELECT slice, own, ref, sum(greatest(p - q, 0)) AS excess
    FROM shares
    WHERE q IS NOT NULL
    GROUP BY slice, own, ref
),
found AS (
    SELECT slice, max(excess) AS worst FROM each GROUP BY slice
)
SELECT every.slice, worst AS value
FROM (SELECT DISTINCT slice FROM rows) AS every
LEFT JOIN found ON found.slice IS NOT DISTINCT FROM every.slice
