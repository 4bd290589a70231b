-- Conditional demographic disparity: of each group, its share among the rejected less that among the
-- accepted, in each stratum, averaged over the rows of all strata. The value largest in size; of two
-- alike the lower. Undefined for one group alone.
WITH known AS (
    SELECT slice, "group", strata, label::INT AS y, weight
    FROM rows
    WHERE "group" IS NOT NULL AND label IS NOT NULL AND strata IS NOT NULL AND weight > 0
),
disparities AS (
    SELECT each.slice, each."group", strata, sum(weight) AS n,
           coalesce(sum(weight * (1 - y)) FILTER (k."group" = each."group")
                        / nullif(sum(weight * (1 - y)), 0), 0)
           - coalesce(sum(weight * y) FILTER (k."group" = each."group")
                          / nullif(sum(weight * y), 0), 0) AS d
    FROM (SELECT DISTINCT slice, "group" FROM known) AS each
    JOIN known AS k ON k.slice IS NOT DISTINCT FROM each.slice
    GROUP BY ALL
),
groups AS (
    SELECT slice, "group", sum(n * d) / sum(n) AS x FROM disparities GROUP BY ALL
)
SELECT everyone.slice,
       CASE WHEN count(x) > 1
            THEN first(x ORDER BY round(abs(x), 12) DESC, x) FILTER (x IS NOT NULL) END AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN groups ON groups.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
