-- Mean score of what is recommended to a user group, compared between groups: the largest less the
-- smallest, or group less reference of the group farthest from it.
WITH known AS (
    SELECT * FROM recs WHERE "user" IS NOT NULL AND item IS NOT NULL
),
sides AS (
    SELECT each.slice, each."group", r.score,
           r."group" = each."group" AS own,
           CASE getvariable('ref_kind')
               WHEN 'value' THEN r."group" = getvariable('ref') AND r."group" <> each."group"
               WHEN 'overall' THEN r."group" IS NOT NULL
               WHEN 'rest' THEN r."group" <> each."group"
           END AS other
    FROM (SELECT DISTINCT slice, "group" FROM known) AS each
    LEFT JOIN known AS r ON r.slice IS NOT DISTINCT FROM each.slice
),
means AS (
    SELECT slice, avg(score) FILTER (own) AS mine, avg(score) FILTER (other) AS theirs,
           mine - theirs AS apart
    FROM sides
    GROUP BY slice, "group"
)
SELECT slice,
       CASE WHEN count(mine) < 2 THEN NULL
            WHEN getvariable('ref_kind') IS NULL THEN max(mine) - min(mine)
            ELSE first(apart ORDER BY round(abs(apart), 12) DESC, apart) FILTER (apart IS NOT NULL)
       END AS value
FROM means
GROUP BY slice
