-- The mean distance of a group's rows to the nearest centroid over that of the reference.
WITH placed AS (
    SELECT rows.slice, "group", weight, min(sqrt((x - cx) ** 2 + (y - cy) ** 2)) AS distance
    FROM (SELECT *, row_number() OVER () AS id FROM rows) AS rows
    CROSS JOIN centroids
    WHERE x IS NOT NULL AND y IS NOT NULL AND weight > 0 AND "group" IS NOT NULL
    GROUP BY id, rows.slice, "group", weight
),
names AS (
    SELECT DISTINCT slice, "group" FROM placed
),
sides AS (
    SELECT names.slice, names."group",
           sum(weight * distance) FILTER (placed."group" = names."group")
           / sum(weight) FILTER (placed."group" = names."group") AS own,
           CASE getvariable('ref_kind')
                WHEN 'overall' THEN sum(weight * distance) / sum(weight)
                WHEN 'rest' THEN sum(weight * distance) FILTER (placed."group" <> names."group")
                                 / sum(weight) FILTER (placed."group" <> names."group")
                WHEN 'value' THEN sum(weight * distance) FILTER (placed."group" = getvariable('ref'))
                                  / sum(weight) FILTER (placed."group" = getvariable('ref'))
           END AS theirs
    FROM names
    JOIN placed ON placed.slice IS NOT DISTINCT FROM names.slice
    GROUP BY names.slice, names."group"
),
ratios AS (
    SELECT slice, CASE WHEN own <> 0 OR theirs <> 0 THEN own / theirs END AS ratio
    FROM sides
    WHERE coalesce(getvariable('ref_kind'), '') <> 'value' OR "group" <> getvariable('ref')
),
farthest AS (
    SELECT slice, ratio
    FROM ratios
    WHERE ratio IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY slice ORDER BY round(abs(ln(ratio)), 12) DESC, ratio) = 1
),
spread AS (
    SELECT slice, count(*) AS groups,
           CASE WHEN max(own) > 0 THEN min(own) / max(own) END AS smallest
    FROM sides
    GROUP BY slice
)
SELECT every.slice,
       CASE WHEN groups > 1
            THEN CASE WHEN getvariable('ref_kind') IS NULL THEN smallest ELSE ratio END
       END AS value
FROM (SELECT DISTINCT slice FROM rows) AS every
LEFT JOIN spread ON spread.slice IS NOT DISTINCT FROM every.slice
LEFT JOIN farthest ON farthest.slice IS NOT DISTINCT FROM every.slice
