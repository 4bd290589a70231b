-- Area under the curve of each user: over all pairs of one of the user's matches with outcome 1 and
-- one with outcome 0, how often the first has the higher score; equal scores count 1/2. The mean
-- over users with such a pair, weighted by their matches, their clicks, or not, by the option
-- `average`.
-- views: _matches.sql
-- n of: (SELECT *, count(*) OVER (PARTITION BY slice, "user") AS seen,
-- n of: count(DISTINCT value) OVER (PARTITION BY slice, "user") AS classes FROM matches)
-- n: "user" IS NOT NULL AND classes = 2
-- n each: CASE getvariable('average') WHEN 'clicks' THEN value WHEN 'users' THEN 1 / seen ELSE 1 END
WITH matched AS (FROM matches),
areas AS (
    SELECT yes.slice, yes."user",
           avg(CASE WHEN yes.score > no.score THEN 1 WHEN yes.score = no.score THEN 0.5 ELSE 0 END)
               AS area
    FROM matched AS yes
    JOIN matched AS no
        ON no.slice IS NOT DISTINCT FROM yes.slice AND no."user" = yes."user"
           AND yes.value = 1 AND no.value = 0
    GROUP BY ALL
),
weighted AS (
    SELECT a.slice, a.area,
           (SELECT CASE coalesce(getvariable('average'), 'impressions')
                       WHEN 'impressions' THEN count(*)
                       WHEN 'clicks' THEN sum(m.value)
                       WHEN 'users' THEN 1
                   END
            FROM matched AS m
            WHERE m.slice IS NOT DISTINCT FROM a.slice AND m."user" = a."user") AS weight
    FROM areas AS a
)
SELECT z.slice, sum(w.area * w.weight) / sum(w.weight) AS value
FROM (SELECT DISTINCT slice FROM matched) AS z
LEFT JOIN weighted AS w ON w.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
