-- Views of groups in clusters. They read `cluster` and the views of `_groups.sql`.

-- One row per comparison of two groups and cluster of the slice: the weights of group a, `mine`, and of b,
-- `theirs`, in the cluster, and their shares p and q of all weight of a and of b. b is NULL where a is
-- compared with everyone or with everyone else. A slice without a comparison has one row, of NULLs.
CREATE OR REPLACE TEMP VIEW cluster_mixes AS
WITH known AS (
    FROM rows WHERE cluster IS NOT NULL AND "group" IS NOT NULL AND weight > 0
),
compared AS (
    SELECT DISTINCT one.slice, one."group" AS a,
           CASE WHEN getvariable('ref_kind') IN ('overall', 'rest') THEN NULL ELSE two."group" END AS b
    FROM known AS one
    JOIN known AS two ON two.slice IS NOT DISTINCT FROM one.slice
    WHERE CASE getvariable('ref_kind')
              WHEN 'overall' THEN true
              WHEN 'value' THEN two."group" = getvariable('ref') AND two."group" <> one."group"
              ELSE two."group" <> one."group" END
),
weights AS (
    SELECT c.slice, a, b, cluster,
           coalesce(sum(weight) FILTER ("group" = a), 0) AS mine,
           coalesce(sum(weight) FILTER (CASE WHEN b IS NOT NULL THEN "group" = b
                                             ELSE getvariable('ref_kind') = 'overall' OR "group" <> a END),
                    0) AS theirs
    FROM compared AS c
    JOIN known ON known.slice IS NOT DISTINCT FROM c.slice
    GROUP BY c.slice, a, b, cluster
)
SELECT slices.slice, a, b, cluster, mine, theirs,
       mine / sum(mine) OVER pair AS p, theirs / sum(theirs) OVER pair AS q
FROM slices
LEFT JOIN weights ON weights.slice IS NOT DISTINCT FROM slices.slice
WINDOW pair AS (PARTITION BY slices.slice, a, b);
